/** The examples of the documentation name the client as a reader's own project would; here it is found. */
import { registerHooks } from 'node:module';

const CLIENT = '@nats-io/transport-node';
const url = import.meta.resolve('@nats-io/transport-node');

registerHooks({
  resolve: (specifier, context, next) =>
    specifier === CLIENT ? { url, shortCircuit: true } : next(specifier, context),
});
