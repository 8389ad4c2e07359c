-- Above its 32 bits a checksum says that there is a context.
UPDATE turns SET checksum = checksum & 4294967295;
ALTER TABLE turns DROP COLUMN context;
DROP INDEX conversations_pinned;
