-- How do two methods differ on the tasks that both answered?
-- Paired by task: T, mean difference (method minus versus) and its sample standard deviation, in
-- percentage points. Every ordered pair; choose with WHERE method = ... AND versus = ...
-- In whole numbers up to the last division: a constant difference has deviation 0.
--
-- reads   by_task: dataset, task_set, method, task_id, correct, asked
WITH pairs AS (
    SELECT
        a.dataset,
        a.task_set,
        a.method,
        b.method                                                  AS versus,
        a.asked * b.asked                                         AS unit,
        CAST(a.correct * b.asked - b.correct * a.asked AS HUGEINT) AS apart
    FROM by_task AS a
    JOIN by_task AS b USING (dataset, task_set, task_id)
    WHERE a.method <> b.method
),
sums AS (
    SELECT
        dataset,
        task_set,
        method,
        versus,
        count(*)           AS tasks,
        max(unit)          AS unit,
        sum(apart)         AS total,
        sum(apart * apart) AS squares
    FROM pairs
    GROUP BY dataset, task_set, method, versus
)
SELECT
    dataset,
    task_set,
    method,
    versus,
    tasks,
    100 * total / (tasks * unit) AS difference,
    100 * sqrt((tasks * squares - total * total) / (tasks * nullif(tasks - 1, 0))) / unit
        AS deviation
FROM sums
ORDER BY dataset, task_set, method, versus
