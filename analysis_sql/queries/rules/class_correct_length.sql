-- Has each list of class_correct as many entries as the task has classes?
SELECT r.rowid AS row, "group", len(class_correct) AS length, count(*) OVER () AS total
FROM rows AS r
JOIN groups AS g USING ("group")
WHERE len(class_correct) <> g.way
ORDER BY row
LIMIT 8
