-- Do the lists of which queries are right hold 1 and 0 only?
SELECT
    row,
    "group",
    CASE WHEN least < 0 THEN least ELSE most END AS worst,
    count(*) OVER ()                             AS total
FROM predicted
WHERE name = 'correct' AND (least < 0 OR most > 1)
ORDER BY row
LIMIT 8
