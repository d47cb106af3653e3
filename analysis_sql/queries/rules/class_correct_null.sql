-- Is there a null inside a list of class_correct?
SELECT r.rowid AS row, "group", count(*) OVER () AS total
FROM rows AS r
WHERE list_count(class_correct) < len(class_correct)
ORDER BY row
LIMIT 8
