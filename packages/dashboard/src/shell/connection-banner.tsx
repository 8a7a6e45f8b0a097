import { connection } from '../api/connection.ts'
import { useStore } from '../api/store.ts'
import { Notice } from '../ui/layout.tsx'

export function ConnectionBanner() {
  const state = useStore(connection)
  return (
    <div role="status">
      {state === 'disconnected' && (
        <Notice tone="warning">The server is unavailable. The page reconnects automatically.</Notice>
      )}
    </div>
  )
}
