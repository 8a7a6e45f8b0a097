import { useState } from 'react'
import { Button } from '../../ui/button.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Checkbox, Select } from '../../ui/field.tsx'
import { nameText } from './names.ts'
import type { View } from './use-view.ts'

interface ExportDialogProps {
  readonly table: string
  readonly view: View
  /** Shown in the view, in their order. */
  readonly columns: readonly string[]
  readonly onClose: () => void
}

type Format = 'csv' | 'json' | 'ndjson'

/** The rows of the view as a file, which the browser writes to the disk as it comes. */
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
          { value: 'ndjson', label: 'NDJSON, a row in each line' },
        ]}
        onChange={setFormat}
      />
      {format === 'csv' && (
        <Checkbox
          label="For a spreadsheet"
          hint="Texts that it would run as formulas are marked; such a file is not one to import again."
          checked={isForSpreadsheet}
          onChange={setForSpreadsheet}
        />
      )}
      <Checkbox label="Hidden columns, too" checked={isWhole} onChange={setWhole} />
      <p>{view.filter === '' ? 'All rows.' : `Rows for which ${view.filter}.`}</p>
    </Dialog>
  )
}

function download(address: string): void {
  const link = document.createElement('a')
  link.href = address
  link.download = ''
  link.click()
}
