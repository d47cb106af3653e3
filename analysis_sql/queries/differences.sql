-- How do two methods differ on the tasks that both answered?
-- Paired by task: T, mean difference (method minus versus) and its sample standard deviation, in
-- percentage points. Every ordered pair; choose with WHERE method = ... AND versus = ...
--
-- reads   results: dataset, task_set, method, task_id, n_correct, n_query
WITH by_task AS (
    SELECT
        dataset,
        task_set,
        method,
        task_id,
        100.0 * sum(n_correct) / sum(n_query) AS accuracy
    FROM results
    GROUP BY dataset, task_set, method, task_id
)
SELECT
    a.dataset,
    a.task_set,
    a.method,
    b.method                              AS versus,
    count(*)                              AS tasks,
    avg(a.accuracy - b.accuracy)          AS difference,
    stddev_samp(a.accuracy - b.accuracy)  AS deviation
FROM by_task AS a
JOIN by_task AS b USING (dataset, task_set, task_id)
WHERE a.method <> b.method
GROUP BY a.dataset, a.task_set, a.method, b.method
ORDER BY a.dataset, a.task_set, a.method, versus
