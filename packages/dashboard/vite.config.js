import react from '@vitejs/plugin-react'
import { defaultClientConditions, defineConfig } from 'vite'

/** Where `npm run dev -w packages/dashboard` finds the API. */
const server = 'http://127.0.0.1:8090'

export default defineConfig({
  base: '/admin/',
  plugins: [react()],
  // The client's sources, which need no build.
  resolve: { conditions: ['@basaltdb/source', ...defaultClientConditions] },
  // The server may have it at another path (`admin.path`): its scripts find each other by where they are.
  experimental: {
    renderBuiltUrl: (_name, { hostType }) => (hostType === 'html' ? undefined : { relative: true }),
  },
  // The server replaces the placeholder in each answer (Content Security Policy, nonce-source).
  html: { cspNonce: '__CSP_NONCE__' },
  build: {
    target: ['chrome125', 'firefox126', 'safari17.5'],
    // Inlined files would need `data:` in the policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    license: { fileName: 'licenses.md' },
    manifest: true,
  },
  server: { proxy: { '/api': { target: server, ws: true }, '/health': server } },
})
