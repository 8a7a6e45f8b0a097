import { useState } from 'react'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Checkbox, Select } from '../../ui/field.tsx'
import { nameText } from './names.ts'
import type { View } from './use-view.ts'

interface ExportDialogProps {
  readonly table: string
  readonly view: View
  /** Visible columns, in display order. */
  readonly columns: readonly string[]
  readonly onClose: () => void
}

type Format = 'csv' | 'json' | 'ndjson'

/** Exports the rows of the view as a file. The browser writes the file while it receives the rows. */
export function ExportDialog({ table, view, columns, onClose }: ExportDialogProps) {
  const [format, setFormat] = useState<Format>('csv')
  const [isForSpreadsheet, setForSpreadsheet] = useState(false)
  const [isWhole, setWhole] = useState(false)
  const query = new URLSearchParams({
    ...(view.filter === '' ? {} : { filter: view.filter }),
    ...(view.sort === '' ? {} : { sort: view.sort }),
    ...(isWhole ? {} : { fields: columns.map(nameText).join() }),
    ...(format === 'csv' && isForSpreadsheet ? { spreadsheet: 'true' } : {}),
  })
  const address = `/api/collections/${encodeURIComponent(table)}/export.${format}?${query}`
  return (
    <Dialog
      title={`Export ${table}`}
      isOpen
      size="small"
      onClose={onClose}
      footer={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            variant="primary"
            onClick={() => {
              download(address)
              onClose()
            }}
          >
            Download
          </Button>
        </>
      }
    >
      <Select
        label="Format"
        value={format}
        choices={[
          { value: 'csv', label: 'CSV' },
          { value: 'json', label: 'JSON' },
          { value: 'ndjson', label: 'NDJSON, one row per line' },
        ]}
        onChange={setFormat}
      />
      {format === 'csv' && (
        <Checkbox
          label="For a spreadsheet"
          hint="Escapes texts that a spreadsheet would run as formulas. Do not import such a file again."
          checked={isForSpreadsheet}
          onChange={setForSpreadsheet}
        />
      )}
      <Checkbox label="Include hidden columns" checked={isWhole} onChange={setWhole} />
      <p>{view.filter === '' ? 'All rows.' : `Rows that match ${view.filter}.`}</p>
    </Dialog>
  )
}

function download(address: string): void {
  const link = document.createElement('a')
  link.href = address
  link.download = ''
  link.click()
}
