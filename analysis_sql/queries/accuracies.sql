-- How well does each method do on each task set?
-- T, mean accuracy and its sample standard deviation over tasks, in percentage points; counts of
-- several runs of a method are summed by task first. In whole numbers up to the last division.
--
-- reads   by_task: dataset, task_set, method, is_reference, correct, asked
WITH sums AS (
    SELECT
        dataset,
        task_set,
        method,
        is_reference,
        count(*)               AS tasks,
        max(asked)             AS asked,
        sum(correct)           AS total,
        sum(correct * correct) AS squares
    FROM by_task
    GROUP BY dataset, task_set, method, is_reference
)
SELECT
    dataset,
    task_set,
    method,
    is_reference,
    tasks,
    100 * total / (tasks * asked) AS mean,
    100 * sqrt((tasks * squares - total * total) / (tasks * nullif(tasks - 1, 0))) / asked
        AS deviation
FROM sums
ORDER BY dataset, task_set, is_reference, method
