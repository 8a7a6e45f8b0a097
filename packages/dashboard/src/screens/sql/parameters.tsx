import { Checkbox, TextField } from '../../ui/field.tsx'
import { changeDraft } from './draft.ts'
import styles from './sql.module.css'

/** Renders fields for the parameters `$1` and so on that the text has. */
export function Parameters({
  count,
  values,
}: {
  readonly count: number
  readonly values: readonly (string | null)[]
}) {
  if (count === 0) return null
  const set = (index: number, value: string | null) =>
    changeDraft({
      parameters: Array.from({ length: Math.max(count, values.length) }, (_, at) =>
        at === index ? value : valueAt(values, at),
      ),
    })
  return (
    <fieldset className={styles.parameters}>
      <legend>Parameters</legend>
      {Array.from({ length: count }, (_, index) => {
        const value = valueAt(values, index)
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: the number is the name.
          <div key={index}>
            <TextField
              label={`$${index + 1}`}
              isCode
              disabled={value === null}
              value={value ?? ''}
              onChange={(text) => set(index, text)}
            />
            <Checkbox
              label={
                <>
                  NULL<span className="visually-hidden"> for ${index + 1}</span>
                </>
              }
              checked={value === null}
              onChange={(checked) => set(index, checked ? null : '')}
            />
          </div>
        )
      })}
    </fieldset>
  )
}

/** Returns the value of a parameter; an empty text if none was entered. */
export function valueAt(values: readonly (string | null)[], index: number): string | null {
  const value = values[index]
  return value === undefined ? '' : value
}
