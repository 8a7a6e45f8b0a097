import { Component, type ReactNode } from 'react'
import { Button } from '../ui/button.tsx'
import { Failure } from '../ui/states.tsx'

/** Limits the failure of a screen to that screen. */
export class ErrorBoundary extends Component<
  { readonly children: ReactNode },
  { readonly error: unknown | undefined }
> {
  override state: { readonly error: unknown | undefined } = { error: undefined }

  static getDerivedStateFromError(error: unknown) {
    return { error }
  }

  override render() {
    if (this.state.error === undefined) return this.props.children
    return (
      <>
        <Failure error={this.state.error} onRetry={() => this.setState({ error: undefined })} />
        {/* After a server update, the files of the previous page no longer exist. */}
        <Button onClick={() => location.reload()}>Reload page</Button>
      </>
    )
  }
}
