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

/** Saves the explanation as a test case of the project. */
export function SaveCase({ request, explanation: { table, action, rows } }: Props) {
  const [name, setName] = useState(`${table.collection.replaceAll(/[^a-z0-9_-]/g, '-')}-${action}`)
  const [expect, setExpect] = useState<Expect>('present')
  const ids = rows.flatMap(({ id }) => id ?? [])
  const [row, setRow] = useState(rows.find(isRefused)?.id ?? ids[0] ?? '')
  const saving = useAction(saveCase, { failure: 'view' })
  const body = { ...request, ...(row === '' ? {} : { ids: [row] }), name, expect }
  const isName = /^[a-z0-9][a-z0-9_-]{0,79}$/.test(name)
  return (
    <>
      <p>
        The test contains the row, its referenced rows, and the rows that the policies read for the caller.{' '}
        <code>basalt policy test</code> runs the test on an empty database with the migrations of the project.
        The file contains the values of the row, so review it before you commit it.
      </p>
      <div className={`${styles.query} ${styles.hinted}`}>
        <TextField
          label="File"
          isCode
          value={name}
          onChange={setName}
          hint={`tests/policies/${name}.toml`}
          error={isName ? undefined : 'Use lower-case letters, digits, - and _.'}
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
            { value: 'present', label: 'The current result' },
            { value: 'allowed', label: 'Access allowed' },
            { value: 'refused', label: 'Access refused' },
          ]}
        />
      </div>
      <div className={styles.actions}>
        <Button
          disabled={!isName}
          isPending={saving.isPending}
          onClick={() => saving.run({ ...body, save: false })}
        >
          Preview file
        </Button>
        <Button
          variant="primary"
          disabled={!isName}
          isPending={saving.isPending}
          onClick={() => saving.run({ ...body, save: true })}
        >
          Save in the project
        </Button>
        <AsCode
          request={{ method: 'POST', path: '/api/admin/access/cases', body: { ...body, save: true } }}
          command="basalt policy test"
        />
      </div>
      {saving.error !== null && <Failure error={saving.error} />}
      {saving.result !== undefined && <Saved saved={saving.result} />}
    </>
  )
}

/** Returns true for a row that the caller cannot see, which is preselected. */
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
