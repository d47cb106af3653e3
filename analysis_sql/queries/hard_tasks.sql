-- Which tasks are hard for every method?
-- Mean accuracy over methods, in percentage points, and the range between the best and the worst.
-- The mean is summed with what rounding leaves, so that the order of methods does not change it.
--
-- reads   by_task: dataset, task_set, task_id, correct, asked
WITH accuracies_by_task AS (
    SELECT dataset, task_set, task_id, 100.0 * correct / asked AS accuracy
    FROM by_task
    WHERE asked IS NOT NULL
)
SELECT
    dataset,
    task_set,
    task_id,
    count(*)       AS methods,
    favg(accuracy) AS mean,
    min(accuracy)  AS lowest,
    max(accuracy)  AS highest
FROM accuracies_by_task
GROUP BY dataset, task_set, task_id
ORDER BY dataset, task_set, mean, task_id
