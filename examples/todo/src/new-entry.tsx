export function NewEntry({ label, onEnter }: { label: string; onEnter: (text: string) => void }) {
  return (
    <form action={(form) => onEnter(String(form.get('text')))}>
      <input name="text" placeholder={label} aria-label={label} required />
      <button type="submit">Add</button>
    </form>
  )
}
