import encodeQR from 'qr'
import styles from './qr-code.module.css'

/** Renders a text as a QR code, dark on light as readers expect. */
export function QrCode({ label, text }: { readonly label: string; readonly text: string }) {
  const modules = encodeQR(text, 'raw', { ecc: 'low', border: margin })
  const dark = modules.flatMap((line, row) =>
    line.flatMap((isDark, column) => (isDark ? [`M${column} ${row}h1v1h-1z`] : [])),
  )
  return (
    <svg
      className={styles.code}
      viewBox={`0 0 ${modules.length} ${modules.length}`}
      role="img"
      aria-label={label}
    >
      <path d={dark.join('')} />
    </svg>
  )
}

/** Width of the light margin, in modules. */
const margin = 4
