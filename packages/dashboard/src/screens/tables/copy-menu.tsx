import { type Cells, formatCsv, formatInsert, formatJson, formatTabs } from '../../grid/clipboard.ts'
import type { GridColumn } from '../../grid/model.ts'
import { copyText } from '../../ui/code.tsx'
import { Menu } from '../../ui/menu.tsx'
import { quoteName } from '../../ui/sql.ts'

interface CopyMenuProps {
  readonly table: { readonly schema: string; readonly name: string }
  /** Returns the cells of the ticked rows, or the selected cells. */
  readonly copied: () => { readonly columns: readonly GridColumn[]; readonly cells: Cells }
}

export function CopyMenu({ table, copied }: CopyMenuProps) {
  const name = `${quoteName(table.schema)}.${quoteName(table.name)}`
  const item = (label: string, format: (columns: readonly GridColumn[], cells: Cells) => string) => ({
    label,
    onSelect: () => {
      const { columns, cells } = copied()
      void copyText(format(columns, cells))
    },
  })
  return (
    <Menu
      label="Copy as"
      size="small"
      items={[
        item('Text for a spreadsheet', (_columns, cells) => formatTabs(cells)),
        item('CSV', formatCsv),
        item('JSON', formatJson),
        item('SQL insert', (columns, cells) => formatInsert(name, columns, cells)),
      ]}
    />
  )
}
