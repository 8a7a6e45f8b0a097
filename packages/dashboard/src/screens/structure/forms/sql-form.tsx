import { useState } from 'react'
import { CodeEditor } from '../../../ui/code-editor.tsx'
import { TextField } from '../../../ui/field.tsx'
import { useReview } from '../review/review-context.ts'
import { ReviewedForm } from './reviewed-form.tsx'

/** What stands in the editor at first. */
const templates = {
  view: {
    title: 'Create a view',
    sql: `-- With security_invoker the policies of the tables decide about the rows.
create view public.open_todo with (security_invoker = true) as
select id, title
from public.todo
where not done;
`,
  },
  function: {
    title: 'Create a function',
    sql: `-- It works with the rights and the policies of its caller.
create function public.count_todo() returns bigint
language sql stable
set search_path = ''
as $$
  select count(*) from public.todo
$$;
`,
  },
  trigger: {
    title: 'Create a trigger',
    sql: `create function public.set_updated_at() returns trigger
language plpgsql
set search_path = ''
as $$
begin
  new.updated_at := now();
  return new;
end
$$;

create trigger set_updated_at before update on TABLE
  for each row execute function public.set_updated_at();
`,
  },
} as const

interface SqlFormProps {
  readonly template?: keyof typeof templates
  /** Of a trigger: the table, as SQL names it. */
  readonly table?: string
  /** Instead of the template: what is there. */
  readonly existing?: { readonly title: string; readonly sql: string }
  readonly onClose: () => void
}

/** For what a form could not hold. */
export function SqlForm({ template = 'view', table, existing, onClose }: SqlFormProps) {
  const review = useReview()
  const start = existing ?? templates[template]
  const [name, setName] = useState<string>(start.title)
  const [sql, setSql] = useState(start.sql.replace('TABLE', table ?? 'public.todo'))
  return (
    <ReviewedForm
      title={start.title}
      size="wide"
      onClose={onClose}
      onSubmit={
        sql.trim() === '' || name.trim() === ''
          ? undefined
          : () => review({ title: name, source: { sql }, onApplied: onClose })
      }
    >
      <TextField label="What it does" value={name} onChange={setName} />
      <CodeEditor label="SQL" language="sql" value={sql} onChange={setSql} />
    </ReviewedForm>
  )
}
