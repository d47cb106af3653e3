-- How well does each method do on each task set?
-- T, mean accuracy and its sample standard deviation over tasks, in percentage points; counts of
-- several runs of a method are summed by task first.
--
-- reads   results: dataset, task_set, method, is_reference, task_id, n_correct, n_query
WITH by_task AS (
    SELECT
        dataset,
        task_set,
        method,
        is_reference,
        task_id,
        100.0 * sum(n_correct) / sum(n_query) AS accuracy
    FROM results
    GROUP BY dataset, task_set, method, is_reference, task_id
)
SELECT
    dataset,
    task_set,
    method,
    is_reference,
    count(*)              AS tasks,
    avg(accuracy)         AS mean,
    stddev_samp(accuracy) AS deviation
FROM by_task
GROUP BY dataset, task_set, method, is_reference
ORDER BY dataset, task_set, is_reference, method
