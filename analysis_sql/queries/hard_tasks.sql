-- Which tasks are hard for every method?
-- Mean accuracy over methods, in percentage points, and the range between the best and the worst.
--
-- reads   results: dataset, task_set, method, task_id, n_correct, n_query
WITH by_task AS (
    SELECT
        dataset,
        task_set,
        task_id,
        method,
        100.0 * sum(n_correct) / sum(n_query) AS accuracy
    FROM results
    GROUP BY dataset, task_set, task_id, method
)
SELECT
    dataset,
    task_set,
    task_id,
    count(*)       AS methods,
    avg(accuracy)  AS mean,
    min(accuracy)  AS lowest,
    max(accuracy)  AS highest
FROM by_task
GROUP BY dataset, task_set, task_id
ORDER BY dataset, task_set, mean, task_id
