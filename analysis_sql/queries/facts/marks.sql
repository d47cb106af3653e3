-- What do a method's rows say of it in the column `transductive`, in the order of the file?
--
-- reads   rows: group, transductive
--         groups: group, method, declared
SELECT method, transductive, any_value(declared) AS declared, min(r.rowid) AS row
FROM rows AS r
JOIN groups USING ("group")
WHERE transductive IS NOT NULL
GROUP BY method, transductive
ORDER BY row
