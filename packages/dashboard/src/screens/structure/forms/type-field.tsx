import { useId } from 'react'
import { useApi } from '../../../api/queries.ts'
import { TextField } from '../../../ui/field.tsx'
import { readObjects } from '../api.ts'

interface TypeFieldProps {
  readonly value: string
  readonly onChange: (value: string) => void
  readonly label?: string
}

/** The types of the database to search in; anything else may be typed, such as `numeric(10, 2)` or `text[]`. */
export function TypeField({ value, onChange, label = 'Type' }: TypeFieldProps) {
  const id = useId()
  const objects = useApi(['structure', 'objects'], readObjects)
  return (
    <>
      <TextField label={label} value={value} onChange={onChange} list={id} isCode />
      <datalist id={id}>
        {objects.data?.columnTypes.map((type) => (
          <option key={type} value={type} />
        ))}
      </datalist>
    </>
  )
}
