import '../styles/tokens.css'
import 'graphiql/style.css'
import './graphiql.css'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { nonce } from '../ui/nonce.ts'
import { GraphiqlPage } from './page.tsx'

// The dialogs' scroll lock inserts style elements with this nonce (package get-nonce).
Object.assign(globalThis, { __webpack_nonce__: nonce })
const root = document.getElementById('root')
if (root === null) throw new Error('the page has no element #root')
createRoot(root).render(
  <StrictMode>
    <GraphiqlPage />
  </StrictMode>,
)
