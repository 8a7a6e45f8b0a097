import react from '@vitejs/plugin-react'
import { defaultClientConditions, defineConfig } from 'vite'

/** URL of the API for `npm run dev -w packages/dashboard`. */
const server = 'http://127.0.0.1:8090'

/** Fonts of GraphiQL, embedded in its style: two thirds of its size. Its page uses the fonts of the system. */
const embeddedFonts = /@font-face\s*\{[^}]*\}/g

export default defineConfig({
  base: '/admin/',
  plugins: [
    react(),
    {
      name: 'graphiql-without-fonts',
      enforce: 'pre',
      transform: {
        filter: { id: /\/graphiql\/dist\/style\.css$/ },
        handler: (style) => style.replace(embeddedFonts, ''),
      },
    },
  ],
  // The client is used from its sources, which need no build.
  resolve: { conditions: ['@basaltdb/source', ...defaultClientConditions] },
  // The server may serve the dashboard at another path (`admin.path`), so scripts find each other by relative paths.
  experimental: {
    renderBuiltUrl: (_name, { hostType }) => (hostType === 'html' ? undefined : { relative: true }),
  },
  // The server replaces the placeholder in each response (Content Security Policy, nonce-source).
  html: { cspNonce: '__CSP_NONCE__' },
  build: {
    target: ['chrome125', 'firefox126', 'safari17.5'],
    // Inlined files would require `data:` in the policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  server: { proxy: { '/api': { target: server, ws: true }, '/health': server } },
})
