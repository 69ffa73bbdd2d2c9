package io.faultline.zoo;

import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Path;

/**
 * Loads one version of Hystrix, whose circuit breaker reads the clock of Time. Nothing else in it
 * is touched: in the constant pool of the breaker's classes one name stands for another.
 */
final class Stepped extends URLClassLoader {
    private static final String LIBRARY = "com.netflix.hystrix.";
    private static final String BREAKER = LIBRARY + "HystrixCircuitBreaker$";
    private static final String ADAPTER = HystrixBreaker.class.getName();
    private static final int UTF8 = 1, LONG = 5, DOUBLE = 6;

    Stepped(Path jar) throws MalformedURLException {
        super(new URL[] {jar.toUri().toURL(), HystrixBreaker.class.getProtectionDomain().getCodeSource().getLocation()},
            Stepped.class.getClassLoader());
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
        if (!name.startsWith(LIBRARY) && !name.startsWith(ADAPTER)) return super.loadClass(name, resolve);
        synchronized (getClassLoadingLock(name)) {
            Class<?> loaded = findLoadedClass(name);
            return loaded != null ? loaded : findClass(name);
        }
    }

    @Override
    protected Class<?> findClass(String name) throws ClassNotFoundException {
        if (!name.startsWith(BREAKER)) return super.findClass(name);
        try (InputStream in = findResource(name.replace('.', '/') + ".class").openStream()) {
            byte[] code = retimed(in);
            return defineClass(name, code, 0, code.length);
        } catch (IOException e) {
            throw new ClassNotFoundException(name, e);
        }
    }

    /** A class that says Time wherever it said System. A method that Time lacks is an error when it is called. */
    private static byte[] retimed(InputStream from) throws IOException {
        DataInputStream in = new DataInputStream(from);
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(bytes);
        out.writeLong(in.readLong()); // Magic and version.
        int constants = in.readUnsignedShort();
        out.writeShort(constants);
        for (int i = 1; i < constants; i++) {
            int tag = in.readUnsignedByte();
            out.writeByte(tag);
            if (tag == UTF8) {
                String text = in.readUTF();
                out.writeUTF(text.equals("java/lang/System") ? "io/faultline/zoo/Time" : text);
                continue;
            }
            out.write(in.readNBytes(length(tag)));
            if (tag == LONG || tag == DOUBLE) i++; // They take two places.
        }
        in.transferTo(out);
        return bytes.toByteArray();
    }

    /** How many bytes a constant has after its tag. */
    private static int length(int tag) throws IOException {
        return switch (tag) {
            case 3, 4, 9, 10, 11, 12, 17, 18 -> 4;
            case LONG, DOUBLE -> 8;
            case 7, 8, 16, 19, 20 -> 2;
            case 15 -> 3;
            default -> throw new IOException("a constant of unknown tag " + tag);
        };
    }
}
