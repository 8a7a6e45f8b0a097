/** Renders the hidden heading of a column of buttons. */
export function ActionsTitle() {
  return <span className="visually-hidden">Actions</span>
}
