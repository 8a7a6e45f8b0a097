import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestApp, type TestApp } from '../../../test/test-app.ts'

let app: TestApp

const policies = {
  own_column: `owner = nullif(current_setting('basalt.user_id', true), '')::uuid`,
  scalar_subquery: `owner = (select nullif(current_setting('basalt.user_id', true), '')::uuid)`,
  settings_function: 'owner = me()',
  nested_settings_function: 'owner = me_again()',
  plpgsql_function: 'owner = me_in_plpgsql()',
  immutable_function: 'is_small(id)',
  parent: 'exists (select from parent where parent.id = thing.id)',
  view: 'exists (select from parents where parents.id = thing.id)',
  itself: 'exists (select from thing other where other.owner = thing.owner)',
  reading_function: 'may_read(id)',
  atomic_function: 'may_read_atomically(id)',
  executing_function: 'may_execute(id)',
  reading_operator: 'id ==> 1',
  whole_row: 'thing is not null and owner is not null',
}

beforeAll(async () => {
  app = await createTestApp({
    setup: `
      create table parent (id int primary key);
      create view parents as select * from parent;
      create table thing (id int primary key, owner uuid, title text);
      create function me() returns uuid language sql stable
        as $$select nullif(current_setting('basalt.user_id', true), '')::uuid$$;
      create function me_again() returns uuid language sql stable as $$select me()$$;
      create function me_in_plpgsql() returns uuid language plpgsql stable
        as $$begin return nullif(current_setting('basalt.user_id', true), '')::uuid; end$$;
      create function is_small(n int) returns bool language sql immutable as $$select n < 10$$;
      create function may_read(n int) returns bool language sql stable
        as $$select exists (select from parent where id = n)$$;
      create function may_read_atomically(n int) returns bool language sql stable
        begin atomic select exists (select from parent where id = n); end;
      create function may_execute(n int) returns bool language plpgsql stable
        as $$declare r bool; begin execute concat('select true fr', 'om parent') into r; return r; end$$;
      create function reads(a int, b int) returns bool language sql stable
        as $$select exists (table parent)$$;
      create operator ==> (leftarg = int, rightarg = int, function = reads);
      ${Object.entries(policies)
        .map(([name, using]) => `create policy ${name} on thing using (${using});`)
        .join('')}`,
  })
})
afterAll(() => app[Symbol.asyncDispose]())

test('policy expressions › distinguish policies that may read relations from those about the row and the claims', () => {
  const found = app.app.catalog.current.relations.get('thing')?.policies ?? []
  const reading = found.filter(({ readsRelations }) => readsRelations).map(({ name }) => name)
  expect(reading.sort()).toEqual([
    'atomic_function',
    'executing_function',
    'itself',
    // Calls inside functions are not followed.
    'nested_settings_function',
    'parent',
    'reading_function',
    'reading_operator',
    'view',
  ])
})

test('policy expressions › know the columns of the row that they read', () => {
  const found = app.app.catalog.current.relations.get('thing')?.policies ?? []
  const columns = Object.fromEntries(found.map((policy) => [policy.name, policy.columns]))
  expect(columns).toMatchObject({ own_column: ['owner'], parent: ['id'], view: ['id'], whole_row: undefined })
})
