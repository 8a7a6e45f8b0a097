import { useState } from 'react'
import { useAction } from '../../api/queries.ts'
import { AsCode } from '../../ui/as-code.tsx'
import { Button } from '../../ui/button.tsx'
import { Code } from '../../ui/code.tsx'
import { download } from '../../ui/download.ts'
import { Select, TextField } from '../../ui/field.tsx'
import { Failure } from '../../ui/states.tsx'
import styles from './access.module.css'
import { type ExplainedRow, type ExplainRequest, type Explanation, type SavedCase, saveCase } from './api.ts'

interface Props {
  readonly request: ExplainRequest
  readonly explanation: Explanation
}

type Expect = 'present' | 'allowed' | 'refused'

/** Makes a case of the project of what was found. */
export function SaveCase({ request, explanation: { table, action, rows } }: Props) {
  const [name, setName] = useState(`${table.collection.replaceAll(/[^a-z0-9_-]/g, '-')}-${action}`)
  const [expect, setExpect] = useState<Expect>('present')
  const ids = rows.flatMap(({ id }) => id ?? [])
  const [row, setRow] = useState(rows.find(isRefused)?.id ?? ids[0] ?? '')
  const saving = useAction(saveCase, { failure: 'view' })
  const asked = { ...request, ...(row === '' ? {} : { ids: [row] }), name, expect }
  const isName = /^[a-z0-9][a-z0-9_-]{0,79}$/.test(name)
  return (
    <>
      <p>
        The case has the row, what it refers to and what the policies read of the caller.{' '}
        <code>basalt policy test</code> runs it on an empty database with the migrations of the project. It
        has the values of the row: look through it before you commit it.
      </p>
      <div className={`${styles.question} ${styles.hinted}`}>
        <TextField
          label="File"
          isCode
          value={name}
          onChange={setName}
          hint={`tests/policies/${name}.toml`}
          error={isName ? undefined : 'Letters in lower case, digits, - and _.'}
        />
        {ids.length > 0 && (
          <Select
            label="Row"
            value={row}
            onChange={setRow}
            choices={ids.map((id) => ({ value: id, label: id }))}
          />
        )}
        <Select<Expect>
          label="Expects"
          value={expect}
          onChange={setExpect}
          choices={[
            { value: 'present', label: 'what is so now' },
            { value: 'allowed', label: 'that it is allowed' },
            { value: 'refused', label: 'that it is refused' },
          ]}
        />
      </div>
      <div className={styles.actions}>
        <Button
          disabled={!isName}
          isPending={saving.isPending}
          onClick={() => saving.run({ ...asked, save: false })}
        >
          Show the file
        </Button>
        <Button
          variant="primary"
          disabled={!isName}
          isPending={saving.isPending}
          onClick={() => saving.run({ ...asked, save: true })}
        >
          Save in the project
        </Button>
        <AsCode
          request={{ method: 'POST', path: '/api/admin/access/cases', body: { ...asked, save: true } }}
          command="basalt policy test"
        />
      </div>
      {saving.error !== null && <Failure error={saving.error} />}
      {saving.result !== undefined && <Saved saved={saving.result} />}
    </>
  )
}

/** What is asked about first: a row that the caller misses. */
const isRefused = ({ allowed, actual }: ExplainedRow) => allowed !== true || actual === false

function Saved({ saved: { name, content, path } }: { readonly saved: SavedCase }) {
  return (
    <>
      <p role="status">
        {path === null ? (
          'Not saved yet.'
        ) : (
          <>
            Saved as <code>{path}</code>. <code>basalt policy test</code> runs it.
          </>
        )}{' '}
        <Button size="small" onClick={() => download(name, 'application/toml', content)}>
          Download
        </Button>
      </p>
      <Code label={name}>{content}</Code>
    </>
  )
}
