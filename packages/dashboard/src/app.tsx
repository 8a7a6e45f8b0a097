import { CSPProvider } from '@base-ui/react/csp-provider'
import { QueryClientProvider } from '@tanstack/react-query'
import { Router } from 'wouter'
import { queryClient } from './api/queries.ts'
import { basePath } from './base-path.ts'
import { Frame } from './shell/frame.tsx'
import { useEncodedLocation, useEncodedSearch } from './shell/router-hooks.ts'
import { SessionGate } from './shell/session-gate.tsx'
import { nonce } from './ui/nonce.ts'
import { Toaster } from './ui/toaster.tsx'

export function App() {
  return (
    <CSPProvider nonce={nonce}>
      <QueryClientProvider client={queryClient}>
        <Router base={basePath} hook={useEncodedLocation} searchHook={useEncodedSearch}>
          <SessionGate>
            <Frame />
          </SessionGate>
        </Router>
        <Toaster />
      </QueryClientProvider>
    </CSPProvider>
  )
}
