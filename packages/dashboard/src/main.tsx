import './styles/tokens.css'
import './styles/base.css'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { App } from './app.tsx'
import { applyTheme, chosenTheme } from './shell/theme.ts'

applyTheme(chosenTheme())
const root = document.getElementById('root')
if (root === null) throw new Error('the page has no element #root')
createRoot(root).render(
  <StrictMode>
    <App />
  </StrictMode>,
)
