import { useEffect, useId, useState } from 'react'
import { useLocation } from 'wouter'
import { Dialog } from '../ui/dialog.tsx'
import styles from './palette.module.css'
import { type Command, useCommands } from './palette-commands.ts'

/** Finds screens, tables, users and actions of the view. */
export function Palette({ onClose }: { readonly onClose: () => void }) {
  const [typed, setTyped] = useState('')
  /** Id of the selected command. An index would change when more results arrive. */
  const [chosen, choose] = useState<string>()
  const [, navigate] = useLocation()
  const commands = useCommands(typed.trim())
  const id = useId()
  const selectedIndex = Math.max(
    0,
    commands.findIndex((command) => command.id === chosen),
  )
  const selected = commands[selectedIndex]
  const optionId = (index: number) => `${id}-${index}`

  function run(command: Command): void {
    onClose()
    if ('path' in command) navigate(command.path)
    else command.run()
  }

  function press(event: React.KeyboardEvent): void {
    if (event.key === 'ArrowDown') choose(commands[(selectedIndex + 1) % commands.length]?.id)
    else if (event.key === 'ArrowUp') choose(commands.at(selectedIndex - 1)?.id)
    else if (event.key === 'Enter' && selected !== undefined && !event.nativeEvent.isComposing) run(selected)
    else return
    event.preventDefault()
  }

  const activeId = selected === undefined ? undefined : optionId(selectedIndex)
  useEffect(() => {
    if (activeId !== undefined) document.getElementById(activeId)?.scrollIntoView({ block: 'nearest' })
  }, [activeId])

  return (
    <Dialog title="Go to" isOpen onClose={onClose}>
      <input
        className={styles.input}
        role="combobox"
        aria-label="Screen, table, user or action"
        aria-expanded
        aria-controls={`${id}-list`}
        aria-activedescendant={activeId}
        aria-autocomplete="list"
        placeholder="Screen, table, user or action"
        autoComplete="off"
        spellCheck={false}
        value={typed}
        onChange={(event) => {
          setTyped(event.target.value)
          choose(undefined)
        }}
        onKeyDown={press}
      />
      <div role="listbox" id={`${id}-list`} aria-label="Results" className={styles.list}>
        {commands.map((command, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field handles the keys of the list (ARIA combobox pattern).
          <div
            key={command.id}
            id={optionId(index)}
            role="option"
            tabIndex={-1}
            aria-selected={index === selectedIndex}
            className={styles.option}
            onClick={() => run(command)}
          >
            <span>{command.title}</span>
            <span className={styles.kind}>{command.kind}</span>
          </div>
        ))}
      </div>
      <p role="status" className="visually-hidden">
        {commands.length} found
      </p>
      {commands.length === 0 && <p>No results.</p>}
    </Dialog>
  )
}
