import { CodeEditor } from '../../../ui/code-editor.tsx'
import { text } from '../../../ui/fields.tsx'
import { describeForm } from './form.tsx'

/** Describes the form for changes that no other form supports. */
export const writeSql = (title: string, sql: string) =>
  describeForm({
    title,
    size: 'wide',
    start: { title, sql },
    fields: () => ({
      title: text('Description'),
      sql: (value, onChange) => <CodeEditor label="SQL" language="sql" value={value} onChange={onChange} />,
    }),
    review: (draft) => draft.sql.trim() !== '' && draft.title.trim() !== '' && draft,
  })

export const createView = writeSql(
  'Create a view',
  `-- With security_invoker the policies of the tables decide about the rows.
create view public.open_todo with (security_invoker = true) as
select id, title
from public.todo
where not done;
`,
)

export const createFunction = writeSql(
  'Create a function',
  `-- It works with the rights and the policies of its caller.
create function public.count_todo() returns bigint
language sql stable
set search_path = ''
as $$
  select count(*) from public.todo
$$;
`,
)

/** Describes the form of a new trigger. @param table SQL name of the table */
export const createTrigger = (table: string) =>
  writeSql(
    'Create a trigger',
    `create function public.set_updated_at() returns trigger
language plpgsql
set search_path = ''
as $$
begin
  new.updated_at := now();
  return new;
end
$$;

create trigger set_updated_at before update on ${table}
  for each row execute function public.set_updated_at();
`,
  )
