-- How well does each method do on each task set?
-- T, mean accuracy and its sample standard deviation over tasks, in percentage points; counts of
-- several runs of a method are summed by task first. In whole numbers up to the last division; of
-- tasks that differ in queries from their accuracies. Of logs without counts there are no rows.
--
-- reads   by_task: dataset, task_set, method, is_reference, correct, asked
WITH sums AS (
    SELECT
        dataset,
        task_set,
        method,
        is_reference,
        count(*)               AS tasks,
        min(asked)             AS least,
        max(asked)             AS asked,
        sum(correct)           AS total,
        sum(correct * correct) AS squares,
        favg(correct / asked)        AS share,
        stddev_samp(correct / asked) AS apart
    FROM by_task
    WHERE asked IS NOT NULL
    GROUP BY dataset, task_set, method, is_reference
)
SELECT
    dataset,
    task_set,
    method,
    is_reference,
    tasks,
    CASE WHEN least < asked THEN 100 * share ELSE 100 * total / (tasks * asked) END AS mean,
    CASE WHEN least < asked
        THEN 100 * apart
        ELSE 100 * sqrt((tasks * squares - total * total) / (tasks * nullif(tasks - 1, 0))) / asked
    END AS deviation
FROM sums
ORDER BY dataset, task_set, is_reference, method
