-- Are class_correct the right predictions of each class? Of the first set with a contradiction.
SELECT min("set") AS "set" FROM contradictions HAVING count(*) > 0 ORDER BY "set";
SELECT row, "group", by_class, class_correct, count(*) OVER () AS total
FROM contradictions
WHERE "set" = $set AND class_correct <> by_class
ORDER BY row
LIMIT 8
