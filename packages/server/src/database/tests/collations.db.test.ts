import { expect, test } from 'vitest'
import { createTestApp, createTestDatabase } from '../../../test/test-app.ts'

test('collations of an external database › logs the statements that rebuild indexes when a version changes', async () => {
  await using database = await createTestDatabase()
  const name = new URL(database.url).pathname.slice(1)
  await database.sql(`
    create table person (id int primary key, name text collate "de-x-icu");
    create index on person (name);
    update pg_database set datcollversion = '57.1' where datname = current_database();
    update pg_collation set collversion = '57.1' where collprovider = 'i'`)
  await using app = await createTestApp({ database })
  const warnings = app.log.map((line) => JSON.parse(line)).filter(({ msg }) => msg.includes('collations'))
  expect(warnings).toMatchObject([
    {
      msg: 'a new version of the collations sorts texts in another order, so indexes may miss rows: rebuild them, then store the version',
      run: [
        `reindex database concurrently ${name};`,
        'alter collation "de-x-icu" refresh version;',
        `alter database ${name} refresh collation version;`,
      ],
    },
  ])
  // The statements can be run as they are.
  for (const statement of warnings[0].run) await database.sql(statement)
  await using next = await createTestApp({ database })
  expect(next.log.filter((line) => line.includes('collations'))).toEqual([])
})
