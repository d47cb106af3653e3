-- Is n_correct the number of right predictions? Of the first task set with a contradiction.
SELECT min("set") AS "set" FROM contradictions HAVING count(*) > 0 ORDER BY "set";
SELECT row, "group", counted, n_correct, count(*) OVER () AS total
FROM contradictions
WHERE "set" = $set AND counted <> n_correct
ORDER BY row
LIMIT 8
