import { integer, text, webAddress } from '../../../config/keys.ts'
import { type Static, Type } from '../../../lib/type.ts'

/** `telemetry`: traces of requests and statements. */
export const telemetryConfig = Type.Object({
  otlp_endpoint: webAddress(
    'Base address of an OTLP/HTTP collector, such as http://127.0.0.1:4318, which gets traces of requests and statements. Empty: none.',
  ),
  otlp_headers: text('', 'Headers of requests to the collector, separated by commas: name=value.', {
    secret: true,
    pattern: '^([^=,\\s]+=[^,\\r\\n]*(,[^=,\\s]+=[^,\\r\\n]*)*)?$',
    expects: 'a list such as authorization=Bearer abc',
  }),
  service_name: text('basalt', 'Name of the service in traces.', { minLength: 1, expects: 'a name' }),
  sample_percent: integer(
    100,
    'Percent of the requests without a trace of their own that are traced.',
    0,
    100,
  ),
})

export type TelemetryConfig = Static<typeof telemetryConfig>
