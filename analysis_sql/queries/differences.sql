-- How do two methods differ on the tasks that both answered?
-- Paired by task: T, mean difference (method minus versus) and its sample standard deviation, in
-- percentage points. Every ordered pair; choose with WHERE method = ... AND versus = ...
-- From inner products of the methods' counts, not task by task. In whole numbers up to the last
-- division (products sum in doubles, exactly below 2^53): a constant difference has deviation 0.
-- Every method answers the first tasks of its set: `shared` is how many of them two methods share.
-- Of tasks that differ in queries from their accuracies; of logs without counts there are no rows.
--
-- reads   by_task: dataset, task_set, method, task_id, correct, asked
WITH varied AS (
    SELECT DISTINCT dataset, task_set
    FROM by_task
    GROUP BY dataset, task_set, method
    HAVING min(asked) < max(asked)
),
lists AS (
    SELECT
        dataset,
        task_set,
        method,
        max(asked)                                     AS asked,
        count(*)                                       AS answered,
        list(CAST(correct AS DOUBLE) ORDER BY task_id) AS counts
    FROM by_task
    WHERE asked IS NOT NULL AND (dataset, task_set) NOT IN (FROM varied)
    GROUP BY dataset, task_set, method
),
prefixes AS (
    SELECT l.* REPLACE (list_slice(counts, 1, shared) AS counts), shared
    FROM lists AS l
    JOIN (SELECT DISTINCT dataset, task_set, answered AS shared FROM lists) AS o
        ON o.dataset = l.dataset AND o.task_set = l.task_set AND shared <= answered
),
summed AS (
    SELECT
        *,
        CAST(list_sum(counts) AS HUGEINT)                   AS total,
        CAST(list_inner_product(counts, counts) AS HUGEINT) AS squares
    FROM prefixes
),
sums AS (
    SELECT
        a.dataset,
        a.task_set,
        a.method,
        b.method                                AS versus,
        shared                                  AS tasks,
        a.asked * b.asked                       AS unit,
        b.asked * a.total - a.asked * b.total   AS total,
        b.asked * b.asked * a.squares + a.asked * a.asked * b.squares
            - 2 * unit * CAST(list_inner_product(a.counts, b.counts) AS HUGEINT) AS squares
    FROM summed AS a
    JOIN summed AS b USING (dataset, task_set, shared)
    WHERE a.method <> b.method AND shared = least(a.answered, b.answered)
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
UNION ALL
SELECT
    a.dataset,
    a.task_set,
    a.method,
    b.method                                                   AS versus,
    count(*)                                                   AS tasks,
    100 * favg(a.correct / a.asked - b.correct / b.asked)        AS difference,
    100 * stddev_samp(a.correct / a.asked - b.correct / b.asked) AS deviation
FROM by_task AS a
JOIN by_task AS b USING (dataset, task_set, task_id)
JOIN varied USING (dataset, task_set)
WHERE a.method <> b.method
GROUP BY a.dataset, a.task_set, a.method, b.method
ORDER BY dataset, task_set, method, versus
