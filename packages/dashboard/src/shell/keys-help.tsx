import { screens } from '../screens.ts'
import { Dialog } from '../ui/dialog.tsx'
import { KeyValue } from '../ui/layout.tsx'

export function KeysHelp({ onClose }: { readonly onClose: () => void }) {
  return (
    <Dialog title="Keyboard shortcuts" isOpen onClose={onClose}>
      <KeyValue
        items={{
          'Commands, tables, users': <Keys keys={['Ctrl or ⌘', 'K']} />,
          'Filter of the view': <Keys keys={['/']} />,
          'Keyboard shortcuts': <Keys keys={['?']} />,
          'Close a panel or a dialog': <Keys keys={['Esc']} />,
        }}
      />
      <h3>Go to</h3>
      <KeyValue
        pairs={[
          ['Home', <Keys key="home" keys={['g', 'h']} />],
          ...screens.flatMap(({ title, key }) =>
            key === undefined ? [] : [[title, <Keys key={key} keys={['g', key]} />] as const],
          ),
        ]}
      />
    </Dialog>
  )
}

function Keys({ keys }: { readonly keys: readonly string[] }) {
  return keys.map((key, index) => (
    <span key={key}>
      {index > 0 && ' '}
      <kbd>{key}</kbd>
    </span>
  ))
}
