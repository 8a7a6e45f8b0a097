import './styles/tokens.css'
import './styles/base.css'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { App } from './app.tsx'
import { applyTheme, lastTheme } from './shell/theme.ts'

applyTheme(lastTheme())
const root = document.getElementById('root')
if (root === null) throw new Error('the page has no element #root')
createRoot(root).render(
  <StrictMode>
    <App />
  </StrictMode>,
)
