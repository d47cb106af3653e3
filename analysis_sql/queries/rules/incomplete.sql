-- Which are the rows of a group, the first, that does not answer each of its tasks once?
-- The different tasks of a group are counted as bits, 2048 in a piece.
--
-- reads   rows: group, task_id
--         groups: group, expected
WITH sized AS (
    SELECT "group", expected, count(*) AS answers, max(task_id) AS last_task
    FROM rows
    JOIN groups USING ("group")
    GROUP BY "group", expected
),
pieces AS (
    SELECT "group", bit_count(bitstring_agg(task_id & 2047, 0, 2047)) AS tasks
    FROM rows
    WHERE "group" IN (SELECT "group" FROM sized WHERE answers = expected)
    GROUP BY "group", task_id >> 11
),
different AS (
    SELECT "group", sum(tasks) AS tasks FROM pieces GROUP BY "group"
),
incomplete AS (
    SELECT "group"
    FROM sized
    LEFT JOIN different USING ("group")
    WHERE answers <> expected OR last_task >= expected OR tasks < expected
    ORDER BY
        CASE WHEN answers <> expected THEN 0 WHEN last_task >= expected THEN 1 ELSE 2 END,
        "group"
    LIMIT 1
)
SELECT r.rowid AS row, "group", task_id
FROM rows AS r
WHERE "group" = (FROM incomplete)
ORDER BY row
