-- Do the lists of predictions hold positions of the task's classes only?
SELECT
    row,
    "group",
    CASE WHEN least < 0 THEN least ELSE most END AS worst,
    count(*) OVER ()                             AS total
FROM predicted
JOIN groups USING ("group")
WHERE name = 'predictions' AND (least < 0 OR most >= way)
ORDER BY row
LIMIT 8
