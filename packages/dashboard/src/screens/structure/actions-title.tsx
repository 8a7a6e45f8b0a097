/** The heading of a column of buttons, which name what they act on. */
export function ActionsTitle() {
  return <span className="visually-hidden">Actions</span>
}
