import { Component, type ReactNode } from 'react'
import { Button } from '../ui/button.tsx'
import { Failure } from '../ui/states.tsx'

/** Keeps a failure of one screen from the rest of the page. */
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
        {/* After an update of the server, files of the page before are no longer there. */}
        <Button onClick={() => location.reload()}>Load the page again</Button>
      </>
    )
  }
}
