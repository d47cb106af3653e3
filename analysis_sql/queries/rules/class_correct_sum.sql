-- Do the counts of a task's classes sum to n_correct?
SELECT
    r.rowid             AS row,
    "group",
    list_sum(class_correct) AS counted,
    n_correct,
    count(*) OVER ()    AS total
FROM rows AS r
WHERE list_sum(class_correct) <> n_correct
ORDER BY row
LIMIT 8
