-- Which fingerprints stand in the rows of each group, and are they its task set's?
-- A null fits as little as a wrong one; a group with nulls alone is not in the file's column.
--
-- reads   rows: group, fingerprint
--         groups: group, fingerprint
--         fingerprints: fingerprint, text
WITH pairs AS (
    SELECT "group", fingerprint FROM rows GROUP BY "group", fingerprint
)
SELECT
    p."group",
    p.fingerprint,
    coalesce(length(f.text) >= 12 AND starts_with(g.fingerprint, lower(f.text)), false) AS fits
FROM pairs AS p
JOIN groups AS g USING ("group")
LEFT JOIN fingerprints AS f ON f.fingerprint = p.fingerprint
WHERE p."group" IN (SELECT "group" FROM pairs WHERE fingerprint IS NOT NULL)
ORDER BY p."group", p.fingerprint
