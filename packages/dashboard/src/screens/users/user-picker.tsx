import { useEffect, useId, useState } from 'react'
import { useApi } from '../../api/queries.ts'
import { TextField } from '../../ui/field.tsx'
import type { Field } from '../../ui/fields.tsx'
import { findUsers } from './api.ts'
import { nameOf } from './name.ts'

interface UserPickerProps {
  readonly label: string
  readonly hint: string
  /** Id of the user; empty while the text does not identify one user. */
  readonly value: string
  readonly onChange: (id: string) => void
}

/** Returns the input of a form for a user, who is required. */
export const userOf = (label: string, hint: string): Field<string> =>
  Object.assign(
    (value: string, onChange: (id: string) => void) => <UserPicker {...{ label, hint, value, onChange }} />,
    { isReady: (value: string) => value !== '' },
  )

/** Renders a field that selects a user by email, phone or id, with suggestions. */
export function UserPicker({ label, hint, value, onChange }: UserPickerProps) {
  const [text, setText] = useState(value)
  const list = useId()
  const search = text.trim()
  const users = useApi(['users', 'picker', search], async (signal) => await findUsers(search, signal))
  const found = users.data ?? []
  const idOf = (given: string) =>
    found.find((user) => user.id === given.trim() || nameOf(user) === given.trim())?.id ?? ''
  const id = idOf(text)
  // Suggestions may arrive after the last key press.
  useEffect(() => {
    if (id !== '' && id !== value) onChange(id)
  }, [id, value, onChange])
  return (
    <>
      <TextField
        label={label}
        hint={value === '' ? hint : `${hint}: ${value}`}
        list={list}
        value={text}
        onChange={(next) => {
          setText(next)
          onChange(idOf(next))
        }}
      />
      <datalist id={list}>
        {found.slice(0, 20).map((user) => (
          <option key={user.id} value={nameOf(user)} />
        ))}
      </datalist>
    </>
  )
}
